import { defineWorkers, type JobContext, type Workers } from 'oncue'
import { z } from 'zod'
import { jobs } from './jobs.ts'
import type { Model, Turn } from './model.ts'
import type { Shop } from './shop.ts'

const MAX_TURNS = 10
const approval = z.object({ ok: z.boolean(), why: z.string().optional() })

export function createWorkers(shop: Shop, model: Model): Workers {
  return defineWorkers(jobs, {
    async support_agent({ id, payload }, ctx) {
      // Built from results of steps: a later run builds the same one.
      const messages = [payload.question]
      for (let turn = 1; turn <= MAX_TURNS; turn++) {
        ctx.progress({ turn })
        const next = await ctx.plan(`plan ${turn}`, () => model(messages), {
          retry: { max: 3 },
          timeout: '60s',
        })
        if ('answer' in next) return { answer: next.answer }
        if (next.tool === 'refund' && !(await isApproved(ctx, turn, next)))
          return { answer: 'A colleague will write to you.' }
        messages.push(await callTool(ctx, `${next.tool} ${turn}`, next, id))
      }
      return { answer: 'I gave up.' }
    },
  })

  function callTool(ctx: JobContext, name: string, turn: Exclude<Turn, { answer: string }>, jobId: string) {
    if (turn.tool === 'find_order')
      return ctx.tool(name, turn.args, async ({ orderId }) => JSON.stringify(await shop.findOrder(orderId)))
    return ctx.tool(name, turn.args, ({ orderId, cents }) => shop.refund(orderId, cents, `${jobId} ${name}`))
  }
}

/** Meanwhile the job occupies no slot and no connection; a person answers on the phone. */
async function isApproved(
  ctx: JobContext,
  turn: number,
  { args }: Extract<Turn, { tool: 'refund' }>,
): Promise<boolean> {
  const question = `Refund ${args.cents} cents for order ${args.orderId}?`
  const answer = await ctx.ask(`approve ${turn}`, question, approval, { timeout: '2d' })
  return !answer.timedOut && answer.value.ok
}
