import { describe, expect, test } from 'vitest';
import { startControlPlane } from '../../plane.ts';

const NS = '/api/v1/namespaces/n';

const starting = async () => {
  const plane = await startControlPlane({ controllers: false });
  const ask = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await plane.fetch(
      new Request(`https://plane${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    return (await answer.json()) as Record<string, unknown>;
  };
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
  return { ask, [Symbol.asyncDispose]: () => plane.close() };
};

describe('the delete of a namespace', () => {
  test.each([
    [{ propagationPolicy: 'Foreground' }, ['foregroundDeletion']],
    [{ orphanDependents: false }, ['foregroundDeletion']],
    [{ propagationPolicy: 'Orphan' }, ['orphan']],
    [{ propagationPolicy: 'Background' }, undefined],
    [{}, undefined],
  ])('the delete of a namespace with %j keeps the finalizers %j', async (options, finalizers) => {
    await using plane = await starting();
    const marked = await plane.ask('DELETE', NS, options);
    expect(marked).toMatchObject({ status: { phase: 'Terminating' } });
    expect((marked.metadata as { finalizers?: string[] }).finalizers).toEqual(finalizers);
    // The namespace is already terminating, so another propagation policy has no effect.
    expect(await plane.ask('DELETE', NS, { propagationPolicy: 'Foreground' })).toEqual(marked);
  });

  test.each([
    [{ uid: 'other' }, 'Precondition failed: UID in precondition: other, UID in object meta: '],
    [{ resourceVersion: '1' }, 'Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object '],
  ])(
    'the delete of a namespace with a wrong precondition (%j) is refused with its own text',
    async (preconditions, words) => {
      await using plane = await starting();
      expect(await plane.ask('DELETE', NS, { preconditions })).toMatchObject({
        code: 409,
        message: expect.stringContaining(`Operation cannot be fulfilled on namespaces "n": ${words}`),
        details: { kind: 'namespaces' },
      });
    },
  );

  test('a create in a terminating namespace is refused with the generateName', async () => {
    await using plane = await starting();
    await plane.ask('DELETE', NS);
    expect(await plane.ask('POST', `${NS}/configmaps`, { metadata: { generateName: 'new-' } })).toMatchObject({
      message:
        'configmaps "new-" is forbidden: unable to create new content in namespace n because it is being terminated',
    });
  });
});
