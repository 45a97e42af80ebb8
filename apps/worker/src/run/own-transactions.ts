import { OncueError, type Transactions } from '@oncue/core'

/** Those that the workers were defined with. */
export function ownTransactions(
  transactions: Transactions | undefined,
  call: 'commit' | 'complete',
): Transactions {
  if (transactions) return transactions
  const message = `ctx.${call} was called, and the workers were defined without transactions`
  throw new OncueError('TRANSACTIONS_NEEDED', message)
}

export function notAwaited(held: readonly string[]): OncueError {
  const message = `ctx.complete was called before these calls of ctx had ended: ${held.join(', ')}`
  return new OncueError('NOT_AWAITED', message)
}
