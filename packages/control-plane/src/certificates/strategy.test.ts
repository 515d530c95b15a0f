import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../testing.ts';
import { draftRequest } from './testing.ts';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const APPROVED = { type: 'Approved', status: 'True', reason: 'R', message: 'm' };

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane({ controllers: false });
});
afterEach(() => setup.plane.close());

const request = (metadata: object = {}) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'r', ...metadata },
  spec: {
    request: Buffer.from(draftRequest({ commonName: 'c' }).certificate).toString('base64'),
    signerName: 'example.dev/x',
    usages: ['client auth'],
  },
});

const must = async (method: string, path: string, body?: object, headers = {}) => {
  const answer = await setup.client.send(method, path, body, headers);
  expect(answer.status, answer.body.message).toBeLessThan(300);
  return answer.body;
};
const approve = () => must('PATCH', `${PATH}/r/approval`, { status: { conditions: [APPROVED] } }, MERGE);

test('a request without labels at its creation has no managers after any write', async () => {
  expect((await must('POST', PATH, request())).metadata).not.toHaveProperty('managedFields');
  expect((await must('PATCH', `${PATH}/r`, { metadata: { labels: { a: 'b' } } }, MERGE)).metadata).not.toHaveProperty(
    'managedFields',
  );
  expect((await approve()).metadata).not.toHaveProperty('managedFields');
});

test('a request with labels has a manager for them, and for its approval', async () => {
  const { metadata } = await must('POST', PATH, request({ labels: { a: 'b' } }));
  const labels = { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } };
  expect(metadata.managedFields).toMatchObject([{ operation: 'Update', fieldsV1: labels }]);
  expect((await approve()).metadata.managedFields).toMatchObject([
    { fieldsV1: labels },
    { subresource: 'approval', fieldsV1: { 'f:status': { 'f:conditions': { 'k:{"type":"Approved"}': {} } } } },
  ]);
});

test('the signer of requests without a signer name cannot be requested by name', async () => {
  const asked = request();
  const answer = await setup.client.send('POST', PATH, {
    ...asked,
    spec: { ...asked.spec, signerName: 'kubernetes.io/legacy-unknown' },
  });
  expect(answer).toMatchObject({
    status: 422,
    body: { details: { causes: [{ field: 'spec.signerName', reason: 'FieldValueInvalid' }] } },
  });
  expect(answer.body.message).toContain('the legacy signerName is not allowed via this API version');
});

test('an apply creates a request with a spec that has no manager', async () => {
  const made = await must('PATCH', `${PATH}/r?fieldManager=m`, request(), APPLY);
  expect(made.spec).toMatchObject({ signerName: 'example.dev/x' });
  expect(made.metadata).not.toHaveProperty('managedFields');
  const status = { conditions: [APPROVED] };
  const applied = await must('PATCH', `${PATH}/r/approval?fieldManager=m`, { ...request(), status }, APPLY);
  expect(applied.metadata.managedFields).toMatchObject([{ manager: 'm', operation: 'Apply', subresource: 'approval' }]);
});

test('a write of the status keeps the approval, and can neither add nor remove one', async () => {
  await must('POST', PATH, request());
  const write = (conditions: object[]) =>
    setup.client.send('PATCH', `${PATH}/r/status`, { status: { conditions } }, MERGE);
  expect((await write([APPROVED])).body.message).toContain('updates may not add a condition of type "Approved"');
  const { status } = await approve();
  const kept = await write([{ type: 'Approved', status: 'True', reason: 'other' }]);
  expect([kept.status, kept.body.status]).toEqual([200, status]);
  expect((await write([])).body.message).toContain('updates may not remove a condition of type "Approved"');
});
