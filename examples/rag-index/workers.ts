import { defineWorkers, type JobId, PermanentError, type Workers } from 'oncue'
import { jobs } from './jobs.ts'
import { type embed, type Library, split } from './library.ts'

/** Only the model may fail temporarily. */
type Model = (text: string) => ReturnType<typeof embed> | Promise<ReturnType<typeof embed>>

export function createWorkers(library: Library, model: Model): Workers {
  return defineWorkers(jobs, {
    async vectorize_source({ payload: { sourceId } }, ctx) {
      const text = library.text(sourceId)
      if (text === undefined) throw new PermanentError(`there is no source ${sourceId}`)
      library.clear(sourceId)
      const chunks = split(text)
      const children: JobId[] = []
      for (const [index, chunk] of chunks.entries()) {
        children.push(await ctx.spawn('embed_chunk', { sourceId, index, text: chunk }))
        ctx.progress({ submitted: children.length, of: chunks.length })
      }
      await ctx.spawn('finish_source', { sourceId }, { after: children })
      return { chunks: chunks.length }
    },

    async embed_chunk({ payload: { sourceId, index, text } }) {
      library.store(sourceId, index, text, await model(text))
    },

    async finish_source({ payload: { sourceId } }) {
      library.finish(sourceId)
    },
  })
}
