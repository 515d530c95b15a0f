import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createAuthority } from '@mcm/control-plane';

/** Returns a new RSA key pair. */
export const rsaKeys = (): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } =>
  generateKeyPairSync('rsa', { modulusLength: 2048 });

export const pemOf = (privateKey: KeyObject): string => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export const certificateOf = (publicKey: KeyObject, notBefore: Date, notAfter: Date): string =>
  createAuthority(notBefore).issue({
    subject: { commonName: 'application' },
    publicKey,
    notBefore,
    notAfter,
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['clientAuth'],
    hosts: [],
  });
