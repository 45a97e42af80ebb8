import { type Api, readConfig, silentLogger, startApi } from '@oncue/api'
import { createSqliteDatabase } from '@oncue/db/testing'

/** What programs and requests of the documents sign in with. */
export const TOKEN = `oncue_${'reader'.padEnd(43, '0')}`

/** An API over a database of its own. */
export async function startServer(): Promise<{ readonly api: Api; close(): Promise<void> }> {
  const database = await createSqliteDatabase()
  const env = { DATABASE_URL: database.url, ONCUE_PORT: '0', ONCUE_ADMIN_TOKEN: TOKEN }
  const api = await startApi(readConfig(env), silentLogger)
  const close = async () => {
    await api.close()
    await database.drop()
  }
  return { api, close }
}
