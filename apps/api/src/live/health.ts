import type { Health } from '@oncue/core/wire'
import type { Services } from '../context.ts'
import { FactReader } from '../health/facts.ts'
import { measure } from '../health/measure.ts'
import { VERSION } from '../version.ts'
import { Board } from './polled-value.ts'

/** The numbers of everything. */
export class HealthBoard extends Board<Health> {
  constructor(
    { store, control }: Pick<Services, 'store' | 'control'>,
    environment: string | null,
    maxAgeMs?: number,
  ) {
    const facts = new FactReader(store, control)
    const about = { dialect: store.dialect, version: VERSION, environment }
    super(async () => ({ ...about, ...measure(await facts.read()) }), tellTaleOf, maxAgeMs)
  }
}

/** All but what changes by itself as time goes by: that is told once a minute, and whoever looks lets it tick. */
function tellTaleOf({ now, throughput: _, oldestWaiting, queues, ...rest }: Health): string {
  const minute = Math.trunc(now.getTime() / 60_000)
  return JSON.stringify([
    minute,
    rest,
    oldestWaiting.value,
    queues.map(({ throughput: _, ...queue }) => queue),
  ])
}
