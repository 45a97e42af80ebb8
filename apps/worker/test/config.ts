/** How often `durable-killed.test.ts` and `children-killed.test.ts` kill a worker: `ONCUE_KILLS=200` for the long proof. */
export const KILLS = Number(process.env.ONCUE_KILLS ?? 5)
/** Children of one job. 5000 for the whole proof. */
export const CHILDREN = Number(process.env.ONCUE_CHILDREN ?? 200)
/** How many processes `commit-killed.test.ts` kills, on each database; a quarter as many of those with isolated handlers. 200 for the whole proof. */
export const COMMIT_KILLS = Number(process.env.ONCUE_COMMIT_KILLS ?? 20)
