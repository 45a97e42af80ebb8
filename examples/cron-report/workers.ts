import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineWorkers, type Workers } from 'oncue'
import { jobs, ZONE } from './jobs.ts'

export interface Sale {
  readonly at: Date
  readonly amount: number
}

const DAY_MS = 86_400_000
const dayOf = (time: Date) => new Intl.DateTimeFormat('en-CA', { timeZone: ZONE }).format(time)

export function createWorkers(sales: readonly Sale[], folder: string): Workers {
  return defineWorkers(jobs, {
    // The tick decides the day, also when the job runs late or again: then it writes the same file.
    async sales_report({ runAt }) {
      const day = dayOf(new Date(runAt.getTime() - DAY_MS))
      const amounts = sales.filter(({ at }) => dayOf(at) === day).map(({ amount }) => amount)
      const total = amounts.reduce((sum, amount) => sum + amount, 0)
      const file = join(folder, `sales-${day}.csv`)
      await mkdir(folder, { recursive: true })
      await writeFile(file, `day,sales,total\n${day},${amounts.length},${total}\n`)
      return { file, total }
    },
  })
}
