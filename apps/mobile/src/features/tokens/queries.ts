import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Token = Outputs['tokens']['list'][number]
export type CreatedToken = Outputs['tokens']['create']

/** Without the sessions and devices that they made: those end with them, and devices have a list of their own. */
export const tokenList: Read<Token[]> = {
  key: ['tokens.list'],
  call: (client, options) => client.tokens.list({ kind: 'token' }, options),
  everyMs: 30_000,
}
