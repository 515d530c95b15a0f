import { once } from 'node:events';
import { request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createAuthority, type KeyPair } from '../../certificates/authority.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

interface User {
  readonly token: string;
  readonly 'client-certificate-data': string;
  readonly 'client-key-data': string;
}

let plane: ControlPlane;
let user: User;
let admin: KeyPair;

const decoded = (text: string): string => Buffer.from(text, 'base64').toString();

beforeAll(async () => {
  plane = await startControlPlane({ port: 0, controllers: false });
  user = (parse(plane.kubeconfig()) as { users: [{ user: User }] }).users[0].user;
  admin = { certificate: decoded(user['client-certificate-data']), key: decoded(user['client-key-data']) };
});

afterAll(() => plane.close());

interface Credentials {
  readonly pair?: KeyPair;
  readonly token?: string;
  readonly socket?: TLSSocket;
}

function whoAmI({ pair, token, socket }: Credentials): Promise<unknown> {
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  return new Promise((resolve, reject) => {
    const sent = request(
      `${plane.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      {
        method: 'POST',
        ca: plane.caCertificate,
        ...(socket === undefined ? { agent: false } : { createConnection: () => socket }),
        ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }),
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
      },
      async (answer) => {
        const text = (await answer.toArray()).join('');
        if (answer.statusCode !== 201) return resolve(answer.statusCode);
        const { username, groups } = JSON.parse(text).status.userInfo;
        resolve([username, groups]);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const ADMINISTRATOR = ['kubernetes-admin', ['system:masters', 'system:authenticated']];

test('a client with only the certificate of the kubeconfig is the administrator', async () => {
  expect(await whoAmI({ pair: admin })).toEqual(ADMINISTRATOR);
});

test('a client with only the token of the kubeconfig is the administrator', async () => {
  expect(await whoAmI({ token: user.token })).toEqual(ADMINISTRATOR);
});

test('a resumed TLS session has the user of its certificate', async () => {
  const { port } = new URL(plane.url ?? '');
  const options = {
    port: Number(port),
    host: '127.0.0.1',
    ca: plane.caCertificate,
    cert: admin.certificate,
    key: admin.key,
  };
  const first = connect(options);
  // With TLS 1.3, the client receives the TLS session after the handshake.
  const [session] = (await once(first.resume(), 'session')) as [Buffer];
  first.destroy();
  const second = connect({ ...options, session });
  await once(second, 'secureConnect');
  expect(second.isSessionReused()).toBe(true);
  expect(await whoAmI({ socket: second })).toEqual(ADMINISTRATOR);
});

test('a valid certificate comes before a token, also before an unknown one', async () => {
  expect(await whoAmI({ pair: admin, token: 'unknown' })).toEqual(ADMINISTRATOR);
});

test('a certificate of another authority gives no user, and the token of the client counts', async () => {
  const pair = createAuthority(new Date()).issueClientPair({
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
  });
  expect(await whoAmI({ pair })).toBe(403);
  expect(await whoAmI({ pair, token: user.token })).toEqual(ADMINISTRATOR);
  expect(await whoAmI({ pair, token: 'unknown' })).toBe(401);
});
