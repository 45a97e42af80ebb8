/** What the model wants next: a tool with its arguments, or to answer. */
export type Turn =
  | { readonly tool: 'find_order'; readonly args: { readonly orderId: string } }
  | { readonly tool: 'refund'; readonly args: { readonly orderId: string; readonly cents: number } }
  | { readonly answer: string }

/** The conversation so far: the question, then what each tool returned. */
export type Model = (messages: readonly string[]) => Promise<Turn>

/** Stands for a language model. It always gives the same answer to the same conversation. */
export const model: Model = async ([question = '', order, refund]) => {
  const [, orderId] = /order (\w+)/.exec(question) ?? []
  if (orderId === undefined) return { answer: 'Which order is it about?' }
  if (order === undefined) return { tool: 'find_order', args: { orderId } }
  const { cents, delivered } = JSON.parse(order) as { cents: number; delivered: boolean }
  if (delivered) return { answer: 'Your order was delivered.' }
  if (refund === undefined) return { tool: 'refund', args: { orderId, cents } }
  return { answer: refund }
}
