/** A Postgres or SQLite database, which Next.js and the worker share. */
export const url = process.env.DATABASE_URL ?? 'file:./.oncue/oncue.db'
