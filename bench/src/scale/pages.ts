import type pg from 'pg'

/** Counts the pages that all other connections to the database touch, cached or not, also inside functions. */
export interface PageCounter {
  reset(): Promise<void>
  read(): Promise<number>
}

/** pg_stat_statements has a statement's pages as soon as it has ended; the statistics of a table come a second later. */
export async function countPages(admin: pg.Client): Promise<PageCounter> {
  await admin.query('create extension pg_stat_statements')
  await admin.query(`set pg_stat_statements.track = 'none'`)
  return {
    async reset() {
      await admin.query('select pg_stat_statements_reset()')
    },
    async read() {
      const { rows } = await admin.query(
        `select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as pages from pg_stat_statements`,
      )
      return rows[0]?.pages
    },
  }
}
