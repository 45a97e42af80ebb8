import pg from 'pg'

const ignore = () => {}

/**
 * A pool of a caller. Its `end()` does not wait until its connections are closed, so stopping the server
 * or dropping the database still cuts them: without both listeners that would fail whatever test runs.
 */
export function openPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options)
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  return pool
}
