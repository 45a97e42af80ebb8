/** The hooks of the client, for React. */
export * from '@oncue/sdk/react'
