/** The reply of a server that has no connection left: an ErrorResponse with its code and message. */
export const TOO_MANY = errorResponse('53300', 'sorry, too many clients already')

function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}
