import { generateKeyPairSync } from 'node:crypto';
import type { createAuthority } from '@mcm/control-plane';
import { realClock } from '@mcm/kube';

const HOUR = 3_600_000;

export function issueCertificate(authority: ReturnType<typeof createAuthority>, usage: 'serverAuth' | 'clientAuth') {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const notBefore = new Date(realClock.now().getTime() - HOUR);
  const cert = authority.issue({
    subject: { commonName: usage },
    publicKey,
    notBefore,
    notAfter: new Date(notBefore.getTime() + 24 * HOUR),
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: [usage],
    hosts: ['localhost', '127.0.0.1'],
  });
  return { cert: String(cert), key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}
