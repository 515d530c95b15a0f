import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyPair } from './authority.ts';
import * as der from './der.ts';

export interface DraftRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipv4?: readonly string[];
}

const attribute = (oid: string, text: string): Buffer => der.set(der.sequence(der.oid(oid), der.utf8(text)));

function attributes({ dnsNames = [], ipv4 = [] }: DraftRequest): Buffer {
  const names = [
    ...dnsNames.map((name) => der.implicit(2, Buffer.from(name))),
    ...ipv4.map((address) => der.implicit(7, Buffer.from(address.split('.').map(Number)))),
  ];
  if (names.length === 0) return der.explicit(0);
  const extension = der.sequence(der.oid('2.5.29.17'), der.octets(der.sequence(...names)));
  return der.explicit(0, der.sequence(der.oid('1.2.840.113549.1.9.14'), der.set(der.sequence(extension))));
}

export function draftRequest(draft: DraftRequest): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const organizations = (draft.organizations ?? []).map((name) => attribute('2.5.4.10', name));
  const info = der.sequence(
    der.integer(0),
    der.sequence(...organizations, attribute('2.5.4.3', draft.commonName)),
    publicKey.export({ type: 'spki', format: 'der' }),
    attributes(draft),
  );
  const algorithm = der.sequence(der.oid('1.2.840.10045.4.3.2'));
  const bytes = der.sequence(info, algorithm, der.bits(sign('sha256', info, privateKey)));
  const body = (bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`,
  };
}
