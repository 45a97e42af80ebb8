import { CONTENDERS } from './contenders/index.ts'
import { measureContender } from './measurements.ts'
import type { Answer, Task } from './protocol.ts'

const { contender, database, url, round } = JSON.parse(process.argv[2] ?? '') as Task
const found = CONTENDERS.find((one) => one.name === contender && one.database === database)
const say = (answer: Answer) => process.send?.(answer, () => process.exit())

if (!found) say({ failed: `there is no contender ${contender} on ${database}` })
else
  measureContender(found, url, round).then(
    (measured) => say({ measured }),
    (error) => say({ failed: error instanceof Error ? error.message : String(error) }),
  )
