import { expect, test } from 'vitest';
import { parseUserData } from './user-data.ts';

const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';
const expected = { server: 'https://10.0.0.1:6443', ca: pem, token: 'abcdef.0123456789abcdef' };
const data = Buffer.from(pem).toString('base64');

test.each<[string, string]>([
  ['JSON', JSON.stringify({ server: expected.server, certificateAuthorityData: data, bootstrapToken: expected.token })],
  [
    'a cloud-config with additional settings',
    `#cloud-config
write_files: []
kubelet:
  server: ${expected.server}
  bootstrapToken: ${expected.token}
  certificateAuthority: |-
    ${pem.replaceAll('\n', '\n    ')}
`,
  ],
  ['a script', `#!/bin/sh\nkubeadm join ${expected.server} --token ${expected.token}\ncat <<EOF\n${pem}\nEOF\n`],
])('%s', (_, text) => {
  expect(parseUserData(text)).toEqual({ ...expected, behaviour: {} });
});

test('the user data contains the other settings of a kubelet', () => {
  const text = JSON.stringify({ nodeName: 'n', nodeLabels: { a: 'b' }, behaviour: { joinDelay: '3s' } });
  expect(parseUserData(text)).toEqual({ nodeName: 'n', nodeLabels: { a: 'b' }, behaviour: { joinDelay: 3_000 } });
});

test.each(['', '  \n', '#!/bin/sh\necho hello\n', 'just words'])(
  'the user data %j has no settings for a Node',
  (text) => {
    expect(parseUserData(text)).toEqual({ behaviour: {} });
  },
);

test.each([
  ['server: 12', /server: /],
  ['certificateAuthorityData: "%%"', /certificateAuthorityData: /],
  ['behaviour: {join: maybe}', /behaviour\.join: /],
  ['behaviour: {sleep: 3s}', /behaviour: .*sleep/],
])('%s is refused with its path', (text, message) => {
  expect(() => parseUserData(text)).toThrow(message);
});
