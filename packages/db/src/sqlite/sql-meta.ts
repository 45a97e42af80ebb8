import { META_ROW } from '../portable/reads/meta.ts'

/** Who has which value in its meta. Lists of ids are JSON arrays. */

const rowsOf = (table: string) => `SELECT ${META_ROW.key}, ${META_ROW.value}, j.created, j.id
FROM json_each(?) AS i CROSS JOIN ${table} j ON j.id = i.value CROSS JOIN json_each(j.meta) AS e WHERE ${META_ROW.where}`

const note = (table: string) =>
  `INSERT OR IGNORE INTO oncue_job_meta (key, value, created, job_id) ${rowsOf(table)}`

export const NOTE_META = note('oncue_jobs')
export const NOTE_META_OF_ENDED = note('oncue_history')

/** For jobs that are about to go or to change: their meta tells which rows are theirs. */
const forget = (table: string) =>
  `DELETE FROM oncue_job_meta WHERE (key, value, created, job_id) IN (${rowsOf(table)})`

export const FORGET_META = forget('oncue_jobs')
export const FORGET_META_OF_ENDED = forget('oncue_history')
