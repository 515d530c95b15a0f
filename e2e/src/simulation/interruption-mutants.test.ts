import { Annotations } from '@mcm/api';
import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { type FleetHistoryOptions, play } from './histories/random-history.ts';

/** Tests the verifier of interruptions with defective machine controllers. */

type Defect = Pick<FleetHistoryOptions, 'wrap' | 'wrapCloud'>;

const writes = (change: (body: string) => string): Defect => ({
  wrap: (name, transport) => (request) => {
    const { body = '' } = request;
    const isRecord = name === 'machine-controller' && body.includes(Annotations.Interruption);
    return transport(isRecord ? { ...request, body: change(body) } : request);
  },
});

const believesAll: Defect = {
  wrapCloud:
    (transport): Transport =>
    async (request) => {
      const answer = await transport(request);
      if (!request.path.startsWith('/v1/interruptions')) return answer;
      const text = (await answer.text()).replaceAll(/"(Rebalance|Freeze)"/g, '"Terminate"');
      return { status: answer.status, headers: answer.headers, body: answer.body, text: async () => text };
    },
};

test.each<[what: string, defect: Defect, seed: number, violation: RegExp]>([
  [
    'that forgets a notice',
    writes((body) => JSON.stringify({ metadata: { uid: JSON.parse(body).metadata.uid } })),
    1,
    /^10000 ms after the notice of the interruption, machine \S+ is not being deleted$/,
  ],
  [
    'that writes a notice of another VM',
    writes((body) => body.replace(/int-[0-9a-f]+/, 'int-0')),
    1,
    /^machine .* has the unknown interruption int-0$/,
  ],
  [
    'that reacts to harmless notices',
    believesAll,
    3,
    /^machine .* reports an interruption of the wrong kind (Rebalance|Freeze)$/,
  ],
])('a machine controller %s is reported in a random history', async (_, defect, seed, violation) => {
  const { violations } = await play('interruptions', { seed, ...defect });
  expect(violations).toContainEqual(expect.stringMatching(violation));
});
