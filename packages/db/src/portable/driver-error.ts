type PrismaError = {
  meta?: { driverAdapterError?: { cause?: { originalCode?: string; originalMessage?: string } } }
} | null

/** The code and message of a driver's error. Prisma wraps it; the driver's code is inside. */
export function describeError(error: unknown): { code: string; message: string; constraint: string } {
  const cause = (error as PrismaError)?.meta?.driverAdapterError?.cause
  const { code, message, constraint } = (error ?? {}) as Record<string, unknown>
  return {
    code: String(cause?.originalCode ?? code ?? ''),
    message: String(cause?.originalMessage ?? message ?? error),
    constraint: String(constraint ?? ''),
  }
}
