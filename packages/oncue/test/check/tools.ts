import type { JobContext } from '@oncue/core'

export const notify = (ctx: JobContext) => ctx.sleep('before mail', '1h')

/** A name that is known only when it runs. */
export const run = (ctx: JobContext, name: string) => ctx.tool(name, null, () => 1)
