import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { audit, readAudit, verdict } from './audit.ts';

const FOUND = {
  hono: [
    {
      id: 1,
      url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
      title: 'a weakness',
      severity: 'high',
      vulnerable_versions: '<99',
      cwe: ['CWE-1'],
      cvss: { score: 7, vectorString: '' },
    },
  ],
};

/** Returns the result of pnpm for this response of the registry, and the names of all packages in the request. */
async function audited(status: number, answer: object) {
  let asked: readonly string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    asked = Object.keys(JSON.parse(Buffer.concat(parts).toString()) as object);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { result: await audit([`--config.registry=http://127.0.0.1:${port}/`]), asked };
}

test('pnpm audits the published packages: a vulnerability fails with package, versions and address, and a registry without audits is reported', async () => {
  const [found, refused] = await Promise.all([audited(200, FOUND), audited(405, {})]);
  expect(found.asked).toEqual(expect.arrayContaining(['undici', 'zod', '@aws-sdk/client-ec2']));
  expect(found.asked).not.toContain('vitest');
  const { text, code } = verdict(found.result, false);
  expect(text.split('\n')[0]).toBe('high: hono <99: a weakness (https://github.com/advisories/GHSA-aaaa-bbbb-cccc)');
  expect(code).toBe(1);
  expect(verdict(refused.result, false)).toMatchObject({ text: expect.stringMatching(/^not audited: .*405/), code: 0 });
  expect(verdict(refused.result, true).code).toBe(1);
});

test('a result without vulnerabilities contains the number of audited packages', () => {
  const printed = JSON.stringify({ advisories: {}, metadata: { totalDependencies: 191 } });
  expect(verdict(readAudit(printed, ''), true)).toEqual({ text: 'none of the 191 packages has an advisory', code: 0 });
});

test('an invalid report does not pass', () => {
  for (const printed of ['', 'null', '[]', '{"error":"x"}', 'No known vulnerabilities found'])
    expect(readAudit(printed, '').outcome, printed).toBe('unanswered');
});
