package storetest

var sessionClauses, threadClauses []clause
