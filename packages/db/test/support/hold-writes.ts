import Database from 'better-sqlite3'
import { dialectOf, sqliteFile } from '../../src/url.ts'
import { connectPostgres } from './postgres-session.ts'

/** Blocks the writes that a worker or an API does at its start, until the returned function is called. */
export async function holdWrites(url: string): Promise<() => Promise<void>> {
  if (dialectOf(url) === 'sqlite') {
    const db = new Database(sqliteFile(url))
    db.exec('BEGIN IMMEDIATE')
    return async () => void db.close()
  }
  const session = await connectPostgres(url)
  await session.query('begin')
  await session.query('lock table oncue.topics, oncue.alert_rules in access exclusive mode')
  return () => session.end()
}
