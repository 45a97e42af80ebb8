/** The client over HTTP, for browsers, phones and servers: nothing of Node. */
export * from '@oncue/sdk'
