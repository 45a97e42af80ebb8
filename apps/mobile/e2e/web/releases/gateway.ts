class GatewayTimeoutError extends Error {
  override readonly name = 'GatewayTimeoutError'
}

/** Handlers that depend on another service, whose address is in the payload. */
export const workers = {
  async charge_card({ payload }: { readonly payload: { readonly gateway: string } }) {
    const response = await fetch(payload.gateway)
    if (!response.ok) throw new GatewayTimeoutError('payments.example.com did not answer within 10 s')
    return { charged: true }
  },
}
