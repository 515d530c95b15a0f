import { expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';
import { isTimeZone } from './cron.ts';

const JOBS = '/apis/batch/v1/namespaces/default/jobs';

/** Returns the label names of a new job and of its pods. */
async function labelsOf(own: object | undefined, pods: object | undefined): Promise<string[]> {
  const setup = await startTestPlane();
  const template = {
    metadata: { labels: pods },
    spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
  };
  const job = { metadata: { name: 'j', labels: own }, spec: { suspend: true, template } };
  const { body } = await setup.client.send('POST', JOBS, job);
  await setup.plane.close();
  return Object.keys((body.metadata as { labels?: object }).labels ?? {}).sort();
}

const OWN = ['batch.kubernetes.io/controller-uid', 'batch.kubernetes.io/job-name', 'controller-uid', 'job-name'];

test.each<[what: string, own: object | undefined, pods: object | undefined, labels: string[]]>([
  ['without labels has those of its pods, the added ones too', undefined, { a: '1' }, ['a', ...OWN]],
  ['with no label in its list, likewise', {}, { a: '1' }, ['a', ...OWN]],
  ['without any labels has those that its pods get', undefined, undefined, OWN],
  ['that has the labels of its pods has them alone', { a: '1' }, { a: '1' }, ['a']],
  ['with labels keeps them', { b: '1' }, { a: '1' }, ['b']],
])('a job %s', async (_what, own, pods, labels) => {
  expect(await labelsOf(own, pods)).toEqual(labels);
});

test.each<[what: string, status: object, spec: object, code: number]>([
  [
    'may change its resources',
    {},
    { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1' } } }] },
    200,
  ],
  ['may change its node affinity', {}, { affinity: { nodeAffinity: {} } }, 200],
  ['may not change its image', {}, { containers: [{ name: 'c', image: 'j' }] }, 422],
  ['may not change its pod affinity', {}, { affinity: { podAffinity: {} } }, 422],
  ['with active pods may not change its placement', { active: 1 }, { nodeSelector: { a: 'b' } }, 422],
])('a suspended job %s', async (_what, status, change, code) => {
  const setup = await startTestPlane();
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  const spec = { suspend: true, managedBy: 'example.dev/x', template };
  await setup.client.send('POST', JOBS, { metadata: { name: 'j' }, spec });
  const { body } = await setup.client.send('GET', `${JOBS}/j`);
  const made = body.spec as { template: { spec: object } };
  await setup.client.send('PUT', `${JOBS}/j/status`, { ...body, status });
  const pods = { ...made.template, spec: { ...made.template.spec, ...change } };
  const metadata = { name: 'j' };
  const answer = await setup.client.send('PUT', `${JOBS}/j`, { metadata, spec: { ...made, template: pods } });
  expect(answer.status).toBe(code);
  await setup.plane.close();
});

test('an update of a Job without generated labels requires only the labels without a prefix', async () => {
  const { client, plane } = await startTestPlane();
  const labels = { app: 'x' };
  const template = { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  const metadata = { name: 'j' };
  const spec = { suspend: true, manualSelector: true, selector: { matchLabels: labels }, template };
  await client.send('POST', JOBS, { metadata, spec });
  const { body } = await client.send('PUT', `${JOBS}/j`, { metadata, spec: { ...spec, manualSelector: false } });
  await plane.close();
  const { causes } = body.details as { causes: { field: string; reason: string }[] };
  expect(causes.filter(({ reason }) => reason === 'FieldValueRequired').map(({ field }) => field)).toEqual([
    'spec.template.metadata.labels[controller-uid]',
    'spec.template.metadata.labels[job-name]',
  ]);
});

test('a condition in the pod failure policy of a CronJob gets the status True', async () => {
  const { client, plane } = await startTestPlane();
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  const rules = [{ action: 'Count', onPodConditions: [{ type: 'DisruptionTarget' }] }];
  const jobTemplate = { spec: { template, podFailurePolicy: { rules } } };
  const spec = { schedule: '* * * * *', jobTemplate };
  const path = '/apis/batch/v1/namespaces/default/cronjobs';
  const { status, body } = await client.send('POST', path, { metadata: { name: 'c' }, spec });
  await plane.close();
  expect(status).toBe(201);
  expect(body).toMatchObject({
    spec: {
      jobTemplate: {
        spec: { podFailurePolicy: { rules: [{ onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }] } },
      },
    },
  });
});

test.each([
  ['Europe/Berlin', true],
  ['europe/berlin', false],
  ['Etc/UTC', true],
  ['ETC/UTC', false],
  ['Utc', false],
  ['US/East-Indiana', true],
  ['US/east-Indiana', false],
  ['Chile/EasterIsland', true],
  ['America/Port-au-Prince', true],
  ['Europe/Nowhere', false],
])('the time zone %s of a CronJob is valid: %s', (zone, isValid) => {
  expect(isTimeZone(zone)).toBe(isValid);
});
