import { defineWorkers, type JobId, type Workers } from 'oncue'
import { jobs, schedules } from './jobs.ts'
import type { Services } from './services.ts'

const RENDITIONS = ['1080p', '720p', '480p', 'audio']

export function createWorkers(services: Services): Workers {
  return defineWorkers(jobs, {
    async send_receipt({ payload }, ctx) {
      const messageId = await services.sendMail(ctx.signal)
      ctx.log.info('sent', { to: payload.to, messageId })
      return { messageId }
    },
    async send_newsletter(_, ctx) {
      await services.sendMail(ctx.signal)
    },

    async capture_payment({ run }, ctx) {
      return { captureId: await services.capture(run === 1, ctx.signal) }
    },
    async check_fraud(_, ctx) {
      await services.work(200, ctx.signal)
      return { score: Math.round(Math.random() * 100) / 100 }
    },

    async deliver_webhook({ payload }, ctx) {
      await services.post(payload.endpoint, ctx.signal)
    },

    // A long job: reports its progress, and continues from there when it is interrupted.
    async transcode_video({ payload: { file, minutes }, cursor }, ctx) {
      const done = typeof cursor === 'number' ? cursor : 0
      for (const [index, rendition] of RENDITIONS.entries()) {
        if (index < done) continue
        ctx.progress({ rendition, percent: (100 * index) / RENDITIONS.length })
        ctx.log.info(`encoding ${rendition}`, { file })
        await services.work(minutes * 400, ctx.signal)
        await ctx.checkpoint(index + 1)
      }
      ctx.progress({ percent: 100 })
      return { renditions: RENDITIONS }
    },

    async pack_order(_, ctx) {
      await services.work(900, ctx.signal)
    },
    async print_label({ payload }, ctx) {
      await services.work(300, ctx.signal)
      return { tracking: `TRK-${payload.orderId}` }
    },
    async notify_courier(_, ctx) {
      await services.work(150, ctx.signal)
    },

    async reindex_category({ payload: { category } }, ctx) {
      const children: JobId[] = []
      for (let n = 1; n <= 20; n++) {
        children.push(await ctx.spawn('index_product', { sku: `${category.slice(0, 3).toUpperCase()}-${n}` }))
      }
      await ctx.spawn('swap_index', { category }, { after: children })
    },
    async index_product(_, ctx) {
      await services.work(150, ctx.signal)
    },
    async swap_index(_, ctx) {
      await services.work(200, ctx.signal)
    },

    async export_ledger({ payload }, ctx) {
      await services.work(1_500, ctx.signal)
      const rows = services.readLedger(payload.account)
      // The types claim that there is always a tax.
      const taxes = rows.map(({ net, tax }) => net * (tax as { rate: number }).rate)
      return { rows: taxes.length }
    },
  })
}

export function createScheduledWorkers(services: Services): Workers {
  return defineWorkers(schedules, {
    async sync_exchange_rates(_, ctx) {
      await services.work(700, ctx.signal)
    },
    async close_books(_, ctx) {
      await services.work(4_000, ctx.signal)
    },
  })
}
