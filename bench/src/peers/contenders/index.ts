import { type Contender, idOf } from '../contender.ts'
import { barePostgres, bareSqlite } from './bare.ts'
import { bullmq } from './bullmq.ts'
import { graphile } from './graphile.ts'
import { oncuePostgres, oncueSqlite, oncueSqliteNormal } from './oncue.ts'
import { pgBoss } from './pg-boss.ts'
import { plainjob } from './plainjob.ts'

/** In the order of the tables. */
export const CONTENDERS: readonly Contender[] = [
  oncuePostgres,
  graphile,
  pgBoss,
  bullmq,
  barePostgres,
  oncueSqlite,
  oncueSqliteNormal,
  plainjob,
  bareSqlite,
]

export function contenderOf(id: string): Contender {
  const found = CONTENDERS.find((contender) => idOf(contender) === id)
  if (!found) throw new Error(`There is no contender ${JSON.stringify(id)}`)
  return found
}
