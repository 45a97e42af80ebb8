/** For the tests of a project: a worker that runs jobs when asked, and a client that sends nothing. */
export {
  createTestClient,
  type RecordedJob,
  type TestAnswers,
  type TestClient,
  type TestResults,
} from '@oncue/sdk/testing'
export {
  createTestWorker,
  type TestedJob,
  type TestWorker,
  type TestWorkerOptions,
} from '@oncue/worker/testing'
