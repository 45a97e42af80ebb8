import { openStore } from '../../src/open.ts'
import { Actor, Recent } from './actor.ts'
import { Random } from './random.ts'
import { emptyRecord } from './record.ts'

/** One process of the model: a store of its own and several actors, who do a given number of things each. */
const [url = '', start = '1', actors = '1', steps = '1'] = process.argv.slice(2)
process.on('disconnect', () => process.exit(1))

const record = emptyRecord()
const recent = new Recent()
const store = await openStore(url)
const act = async (n: number) => {
  const actor = new Actor(store, new Random(Number(start) * 1_000 + n), record, recent)
  for (let step = 0; step < Number(steps); step++) await actor.step()
}
await Promise.all(Array.from({ length: Number(actors) }, (_, n) => act(n)))
await store.close()
process.send?.(record, () => process.exit(0))
