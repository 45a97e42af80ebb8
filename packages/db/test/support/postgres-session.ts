import pg from 'pg'

/** A connection for tests that inspect the server, or damage it. */
export interface PostgresSession {
  query(text: string, values?: unknown[]): Promise<unknown[][]>
  end(): Promise<void>
}

export async function connectPostgres(url: string): Promise<PostgresSession> {
  const client = new pg.Client({ connectionString: url, application_name: 'testing' })
  client.on('error', () => {})
  await client.connect()
  return {
    async query(text, values = []) {
      return (await client.query<unknown[]>({ text, values, rowMode: 'array' })).rows
    },
    end: () => client.end(),
  }
}
