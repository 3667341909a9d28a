// Package dags reads jobs of dependent stages with measured task times, such as Decima's TPC-H queries on Spark, as
// workflows whose stages run many tasks in parallel.
package dags
