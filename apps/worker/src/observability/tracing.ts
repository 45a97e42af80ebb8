import type { JobContext, RunningJob } from '@oncue/core'
import { describeError, signalOf } from '@oncue/core/internal'
import {
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Middleware } from '../run/middleware.ts'
import { VERSION } from '../version.ts'

/**
 * A span for each run, child of the span that enqueued the job. Without a registered tracer provider the spans do
 * nothing.
 */
export const tracing: Middleware = async (job, ctx, next) => {
  const tracer = trace.getTracer('@oncue/worker', VERSION)
  const span = tracer.startSpan(`process ${job.topic}`, { kind: SpanKind.CONSUMER }, parentOf(job))
  if (span.isRecording()) span.setAttributes(attributesOf(job, ctx))
  try {
    return await context.with(trace.setSpan(context.active(), span), next)
  } catch (error) {
    if (span.isRecording()) recordEnd(span, error, job.topic)
    throw error
  } finally {
    span.end()
  }
}

/** The active span in the format of a job (W3C); undefined if nothing is traced. */
export function currentTraceparent(): string | undefined {
  const spanContext = trace.getActiveSpan()?.spanContext()
  if (!spanContext || !isSpanContextValid(spanContext)) return undefined
  const { traceId, spanId, traceFlags } = spanContext
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
}

/**
 * Parsed here and not by the registered propagator, which may use another format (B3, Jaeger): a job's trace is always
 * W3C.
 */
function parentOf({ trace: traceparent }: RunningJob): Context {
  const spanContext = traceparent === null ? undefined : parseTraceparent(traceparent)
  return spanContext ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT
}

/** version-traceid-spanid-flags; a later version may have more after that. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/

function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? []
  if (!traceId || !spanId || !flags) return undefined
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(spanContext) ? spanContext : undefined
}

/** Follows the semantic conventions for messaging; other attributes start with `oncue`. */
function attributesOf(job: RunningJob, ctx: JobContext) {
  return {
    'messaging.system': 'oncue',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': job.queue,
    'messaging.message.id': job.id,
    'oncue.topic': job.topic,
    'oncue.run': job.run,
    'oncue.attempt': ctx.attempt,
  }
}

/** The handler asked for a snooze or a cancel, or waits: that is no error. */
function recordEnd(span: Span, error: unknown, topic: string): void {
  const signal = signalOf(error)?.kind
  if (signal === 'snooze' || signal === 'cancel' || signal === 'suspend') {
    span.setAttribute('oncue.signal', signal)
    return
  }
  const { class: name, message, stack, code } = describeError(error, topic)
  span.recordException({ name, message, ...(stack !== undefined && { stack }) })
  span.setAttribute('error.type', code ?? name)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}
