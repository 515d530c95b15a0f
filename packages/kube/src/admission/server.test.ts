import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { type ServedCertificate, serveCertificateFiles } from './certificate-files.ts';
import { issueAuthority, issueServing } from './self-made/issue.ts';
import { type AdmissionServer, type ServingPair, startAdmissionServer } from './server.ts';

const HOST = '127.0.0.1';

async function signed(forMs = 3_600_000): Promise<{ readonly ca: string; readonly pair: ServingPair }> {
  // The test uses the system time, because TLS compares it with the validity of certificates.
  const now = Date.now();
  const validity = { from: new Date(now - 60_000), until: new Date(now + forMs) };
  const authority = await issueAuthority(validity);
  return { ca: authority.cert, pair: await issueServing(authority, [HOST], validity) };
}

const send = (
  port: number,
  ca: string,
  body: string,
  { path = '/validate', method = 'POST' } = {},
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: HOST, port, path, method, ca, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });

const review = (object: unknown) =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'asked',
      kind: { group: 'machine.sapcloud.io', version: 'v1alpha1', kind: 'MachineDeployment' },
      operation: 'CREATE',
      name: 'pool',
      object,
      oldObject: null,
    },
  });

const start = (pair: ServingPair): Promise<AdmissionServer> =>
  startAdmissionServer({ host: HOST, port: 0 }, pair, {
    '/validate': ({ object }) => ({
      causes:
        object === 'bad' ? [{ field: 'spec.replicas', reason: 'FieldValueInvalid', message: 'must not be bad' }] : [],
    }),
    '/broken': () => {
      throw new Error('a defect');
    },
  });

test('the server answers reviews over TLS and refuses all other requests', async () => {
  const { ca, pair } = await signed();
  const server = await start(pair);
  try {
    const good = await send(server.port, ca, review('good'));
    expect([good.status, JSON.parse(good.text).response]).toEqual([200, { uid: 'asked', allowed: true }]);
    const bad = JSON.parse((await send(server.port, ca, review('bad'))).text).response;
    expect(bad).toMatchObject({
      uid: 'asked',
      allowed: false,
      status: {
        code: 422,
        reason: 'Invalid',
        message: 'MachineDeployment.machine.sapcloud.io "pool" is invalid: spec.replicas: must not be bad',
        details: { causes: [{ field: 'spec.replicas' }] },
      },
    });
    const status = async (body: string, options: object = {}) => (await send(server.port, ca, body, options)).status;
    expect(await status('{')).toBe(400);
    expect(await status(review('good'), { path: '/elsewhere' })).toBe(404);
    expect(await status(review('good'), { path: '/__proto__' })).toBe(404);
    expect(await status('', { method: 'GET' })).toBe(405);
    expect(await status(review('good'), { path: '/broken' })).toBe(500);
    expect(await status('x'.repeat(5 * 1024 * 1024)).catch(() => 413)).toBe(413);
    expect(await status(review('good'))).toBe(200);
  } finally {
    await server.close();
  }
});

test('the error for a port in use names the flag and the number', async () => {
  const { pair } = await signed();
  const server = await start(pair);
  try {
    await expect(startAdmissionServer({ host: HOST, port: server.port }, pair, {})).rejects.toThrow(
      `--webhook-port ${server.port}: cannot listen on the port`,
    );
  } finally {
    await server.close();
  }
});

test('certificate files are read again when they change; a pair that does not match is skipped and reported', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'webhooks-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const put = async ({ cert, key }: ServingPair) => {
    await writeFile(join(directory, 'tls.crt'), cert);
    await writeFile(join(directory, 'tls.key'), key);
  };
  const [clock, log] = [new VirtualClock({ start: new Date() }), createMemoryLogger()];
  const reported: (string | undefined)[] = [];
  const used: (string | undefined)[] = [];
  const served: ServedCertificate = {
    use: ({ cert }, from) => used.push(cert, from),
    unusable: (sentence) => reported.push(sentence),
  };
  const files = { directory, flag: '--tls-cert-dir' };
  const serve = () => serveCertificateFiles(files, start, { clock, log, served });
  await expect(serve()).rejects.toThrow(
    `--tls-cert-dir ${directory}: must contain tls.crt and the matching tls.key in PEM: ENOENT`,
  );
  const [first, second] = [await signed(), await signed()];
  await put(first.pair);
  const { server, close } = await serve();
  try {
    expect((await send(server.port, first.ca, review('good'))).status).toBe(200);
    await put(second.pair);
    await clock.advance(10_000);
    expect((await send(server.port, second.ca, review('good'))).status).toBe(200);
    await expect(send(server.port, first.ca, review('good'))).rejects.toThrow();
    expect(used).toEqual([first, second].flatMap(({ pair }) => [pair.cert, `--tls-cert-dir ${directory}`]));
    await writeFile(join(directory, 'tls.key'), first.pair.key);
    await clock.advance(10_000);
    expect(reported).toEqual([undefined]);
    await clock.advance(10_000);
    const sentence = `--tls-cert-dir ${directory}: must contain tls.crt and the matching tls.key in PEM: the key does not belong to the certificate; continuing with the previous certificate`;
    expect(reported).toEqual([undefined, sentence]);
    expect((await send(server.port, second.ca, review('good'))).status).toBe(200);
    await put(second.pair);
    await clock.advance(10_000);
    expect(reported.at(-1)).toBeUndefined();
    expect(used).toHaveLength(4);
    for (const { pair } of [first, second, first]) {
      await writeFile(join(directory, 'tls.key'), pair.key);
      await clock.advance(10_000);
    }
    expect(reported.at(-1)).toBeUndefined();
    await put((await signed(-30_000)).pair);
    await clock.advance(20_000);
    expect(reported.at(-1)).toMatch(
      /^--tls-cert-dir .* expired at .*; issue a new certificate; continuing with the previous certificate$/,
    );
    expect(used).toHaveLength(4);
    expect(JSON.stringify([log.lines, reported])).not.toContain('PRIVATE KEY');
    close();
    await put(first.pair);
    await clock.advance(20_000);
    expect(used).toHaveLength(4);
  } finally {
    close();
    await server.close();
  }
});
