// Bytes and JSON as base64, for a thread's versions.

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
export const fromBase64 = (data: string | null | undefined): Uint8Array => new Uint8Array(Buffer.from(data ?? "", "base64"));
export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
export const decode = <T>(data: string | null | undefined): T => JSON.parse(Buffer.from(data ?? "e30=", "base64").toString("utf8")) as T;

/** As many items a call as the server takes: 500, or about 1.2 MB of base64. */
export function batches<T extends { data?: string | null; meta?: string | null }>(items: T[]): T[][] {
  const out: T[][] = [];
  let size = 0;
  for (const item of items) {
    const n = (item.data?.length ?? 0) + (item.meta?.length ?? 0);
    const last = out.at(-1);
    if (!last || last.length === 500 || size + n > 1_200_000) {
      out.push([item]);
      size = n;
    } else {
      last.push(item);
      size += n;
    }
  }
  return out;
}
