import { expect, test } from 'vitest';
import { commonFlags } from '../flags/common-flags.ts';
import { parseFlags } from '../flags/parse-flags.ts';
import { crossCheck, doubtsAbout } from './cross-check.ts';

const flags = commonFlags({ port: 10_258, concurrency: 1, controllers: [] });

async function assessed(...argv: string[]) {
  const parsed = await parseFlags({ name: 'demo', version: '1', description: 'd' }, flags, argv);
  if (parsed.kind !== 'run') throw new Error('nothing to run');
  return { wrong: crossCheck(parsed.values), doubtful: doubtsAbout(parsed.values) };
}

test.each<[string[], RegExp]>([
  [
    ['--leader-elect-lease-duration=10s'],
    /--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline/,
  ],
  [
    ['--leader-elect-retry-period=9s'],
    /--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry/,
  ],
  [['--kube-api-qps=1', '--kube-api-burst=0'], /--kube-api-burst must be at least 1/],
  [['--namespace='], /--namespace must not be empty/],
  [['--secure-port=10258'], /--port and --secure-port must not both be 10258/],
])('%j contradict each other', async (argv, says) => {
  const { wrong } = await assessed(...argv);
  expect(wrong).toEqual([expect.stringMatching(says)]);
});

test.each<[string[], RegExp]>([
  [['--tls-cert-dir=/tls'], /--tls-cert-dir has no effect without --secure-port/],
  [['--v=4', '--log-level=error'], /--v=4 overrides --log-level=error/],
])('%j lead to a warning', async (argv, says) => {
  expect(await assessed(...argv)).toEqual({ wrong: [], doubtful: [expect.stringMatching(says)] });
});

test.each([[[]], [['--port=0', '--secure-port=0']], [['--v=4']], [['--tls-cert-dir=/tls', '--secure-port=1']]])(
  '%j are valid',
  async (argv) => {
    expect(await assessed(...argv)).toEqual({ wrong: [], doubtful: [] });
  },
);
