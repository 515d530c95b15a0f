import { gzipSync } from 'node:zlib';
import { createMemoryLogger } from '@mcm/kube';
import { expect, test } from 'vitest';
import { redact, redactingLogger, withoutSent } from './redact.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const KEY_LINE = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj';
const PEM = `-----BEGIN PRIVATE KEY-----\n${KEY_LINE}\n-----END PRIVATE KEY-----\n`;
const KEY_FILE = JSON.stringify({
  type: 'service_account',
  project_id: 'project-of-the-test',
  private_key: PEM,
  token_uri: 'https://oauth2.googleapis.com/token',
});
const SECRETS = {
  password: 'hunter2/hunter2+é"',
  serviceAccountJSON: KEY_FILE,
  userData: 'short\ncurl https://host/with/a/long/path\nname=<<MACHINE_NAME>> joins-the-cluster-now',
};

test('values of Secrets and lines of user data are removed from errors', () => {
  expect(redact(`refused: ${SECRETS.password} at curl https://host/with/a/long/path, short`, SECRETS)).toBe(
    'refused: *** at ***, short',
  );
});

test.each<[what: string, text: string]>([
  ['in base64', base64(SECRETS.password)],
  ['in base64 for URLs', Buffer.from(SECRETS.password).toString('base64url')],
  ['in a URL', encodeURIComponent(SECRETS.password)],
  ['as base64 in a form', `UserData=${encodeURIComponent(base64(SECRETS.userData))}&`],
  ['within JSON', JSON.stringify({ password: SECRETS.password })],
  ['within JSON that JSON quotes', JSON.stringify(JSON.stringify({ given: SECRETS.password }))],
  ['the key of a key file', `cannot sign with ${PEM}`],
  ['a line of it', `asn1 error near ${KEY_LINE}`],
  ['a part of a line of a key file', `asn1 error near ${KEY_LINE.slice(7, 50)}…`],
  ['a part of the base64, truncated by a server', `body: ${base64(SECRETS.userData).slice(11, 60)}…`],
  ['such a part in a form field', `x=${encodeURIComponent(base64(SECRETS.userData)).slice(3, 90)}`],
])('a value is found %s', (_what, text) => {
  const said = redact(text, SECRETS);
  expect(said).toContain('***');
  for (const part of ['hunter2', KEY_LINE.slice(16, 40), base64(SECRETS.userData).slice(16, 32), 'aHVudGVyMi9odW50'])
    expect(said).not.toContain(part);
});

test('gzip user data is removed as base64 and as text', () => {
  const userData = gzipSync(`#!/bin/sh\nenrol --with-the-password-of-the-pool\n${'x'.repeat(99)}`);
  const packed = userData.toString('base64');
  const said = redact(`bad customData ${packed}, cut ${packed.slice(20, 60)}…, enrol --with-the-password-of-the-pool`, {
    userData,
  });
  expect(said).toBe('bad customData ***, cut ***…, ***');
});

const OPAQUE = 'IQoJb3JpZ2luX2VjEHoaCXVzLWVhc3QtMSJ';
test.each<[what: string, text: string, instead: string]>([
  ['a bearer token', `Authorization: Bearer ${OPAQUE}/x==, Accept: x`, 'Authorization: Bearer ***, Accept: x'],
  ['a truncated bearer token', `{"authorization":"Bearer ${OPAQUE}`, '{"authorization":"*** ***'],
  ['a JSON Web Token', 'got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJtYWNoaW5lcyJ9.c2lnbmF0dXJl, no', 'got ***, no'],
  ["AWS's canonical request", `host:x\nx-amz-security-token:${OPAQUE}\n`, 'host:x\nx-amz-security-token:***\n'],
  ['a signature', `Credential=AKIA/2026/ec2, Signature=0123456789abcdef`, 'Credential=AKIA/2026/ec2, Signature=***'],
  ['a signed address', `GET https://x/y?se=2026&sig=${OPAQUE}%3D&sp=r`, 'GET https://x/y?se=2026&sig=***&sp=r'],
  ['a field of XML', `<SessionToken>${OPAQUE}</SessionToken>`, '<SessionToken>***</SessionToken>'],
  ['a field of JSON', `{"access_token": "${OPAQUE}"}`, '{"access_token": "***"}'],
  ['a private key, cut', `key ${PEM.slice(0, 60)}`, 'key ***'],
  ['a bootstrap token', 'token abcdef.0123456789abcdef is', 'token *** is'],
])('without a known Secret, %s is found by its pattern', (_what, text, instead) => {
  expect(redact(text, {})).toBe(instead);
});

test.each([
  'RunInstances: UnauthorizedOperation: You are not authorized. Encoded authorization failure message: 4GIOHlTkIaWHQD0Q0m6XSnuUMCm-abcdefgh (HTTP 403, request 7a62c49f-347e-4fc4-9331-6e8eEXAMPLE)',
  'googleapi: Error 400: projects/project-of-the-test/zones/europe-west1-b is unknown, invalid',
  'no token from https://login.microsoftonline.com: 401 invalid_client',
  "AuthFailure: AWS was not able to validate the provided access credentials; the field 'password' is missing",
  'oauth2: cannot fetch token: no answer from https://oauth2.googleapis.com: getaddrinfo ENOTFOUND oauth2.googleapis.com',
])('useful text that is not secret stays: %s', (text) => {
  expect(redact(text, SECRETS)).toBe(text);
});

test('a value from a list of choices is not hidden, but a secret in its place is', () => {
  const text = 'no Lease in kube-system for hunter2-hunter2';
  expect(redact(text, { managedIdentity: 'system' })).toBe(text);
  expect(redact(text, { managedIdentity: 'hunter2-hunter2' })).toBe('no Lease in kube-system for ***');
  expect(redact(text, { password: 'system' })).toBe('no Lease in kube-*** for hunter2-hunter2');
});

test('credentials of a request are removed from its answer, even without a known pattern', () => {
  const headers = {
    accept: 'application/json',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIAKEY/2026/ec2, SignedHeaders=host;x-amz-date, Signature=0a1b2c3d4e5f6a7b',
    'x-amz-security-token': 'opaque+token/of=the==session',
  };
  const form = { client_id: 'the-client', client_secret: 'told+in/the form', grant_type: 'client_credentials' };
  const echo = [
    ...Object.values(headers),
    ...Object.values(headers).map(encodeURIComponent),
    new URLSearchParams(form),
  ];
  const said = withoutSent(JSON.stringify(echo.join(' ')), { headers, form });
  for (const part of ['0a1b2c3d4e5f6a7b', 'opaque', 'session', 'told', 'AKIAKEY']) expect(said).not.toContain(part);
  for (const part of ['application/json', 'host;x-amz-date', 'the-client', 'client_credentials'])
    expect(said).toContain(part);
});

test('a log line contains errors by their message, and no bytes', () => {
  const log = createMemoryLogger();
  const error = new Error(`refused ${SECRETS.password}`, { cause: { authorization: SECRETS.password } });
  redactingLogger(log, SECRETS).warn('no', { error, body: Buffer.from(SECRETS.password), at: [{ text: PEM }] });
  const reported = JSON.stringify(log.lines);
  expect(reported).toContain('refused ***');
  for (const part of ['hunter2', KEY_LINE, '104,117,110']) expect(reported).not.toContain(part);
});
