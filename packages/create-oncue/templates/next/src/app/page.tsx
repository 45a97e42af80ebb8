import { signUp } from './actions.ts'

export default async function Page({ searchParams }: PageProps<'/'>) {
  const { job } = await searchParams
  return (
    <main>
      <h1>Sign up</h1>
      <form action={signUp}>
        <input name="email" type="email" aria-label="Email" placeholder="ada@example.com" required />
        <button type="submit">Send me a welcome</button>
      </form>
      {typeof job === 'string' && (
        <p>
          A welcome is on its way: <a href={`/admin/jobs/jobs/${encodeURIComponent(job)}`}>its job</a>
        </p>
      )}
    </main>
  )
}
