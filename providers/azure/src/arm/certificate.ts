import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

export interface ClientCertificate {
  readonly key: KeyObject;
  readonly thumbprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;
const KEY = /-----BEGIN (?:RSA )?PRIVATE KEY-----[\s\S]*?-----END (?:RSA )?PRIVATE KEY-----/;
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/;

/**
 * Reads a certificate and its key, in any order.
 * @throws Error with the problem and the fix, but without any part of the text
 */
export function readCertificate(pem: string): ClientCertificate {
  if (!pem.includes('-----BEGIN '))
    throw new Error(
      'clientCertificate must be PEM: a certificate and its private key; convert PKCS#12 with openssl pkcs12 -in FILE -nodes',
    );
  if (ENCRYPTED.test(pem))
    throw new Error('clientCertificate contains an encrypted private key; decrypt the key with openssl pkey -in FILE');
  const key = keyOf(KEY.exec(pem)?.[0]);
  const certificates = (pem.match(CERTIFICATE) ?? []).map(parse);
  if (certificates.length === 0)
    throw new Error('clientCertificate contains no certificate; append the certificate in PEM to its private key');
  const own = certificates.find((each) => each.checkPrivateKey(key));
  if (!own)
    throw new Error('the private key in clientCertificate does not belong to its certificate; store a matching pair');
  return {
    key,
    thumbprint: Buffer.from(own.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url'),
    notBefore: own.validFromDate,
    notAfter: own.validToDate,
  };
}

function keyOf(text: string | undefined): KeyObject {
  if (text === undefined)
    throw new Error('clientCertificate contains no private key; append the private key in PEM to its certificate');
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch {
    // The error omits the message of the crypto library, because the message may quote the key.
    throw new Error('clientCertificate contains an unreadable private key; store an RSA key in PEM');
  }
  if (key.asymmetricKeyType === 'rsa') return key;
  throw new Error(
    'clientCertificate contains a private key of another type than RSA; Microsoft Entra accepts only RSA keys',
  );
}

function parse(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new Error('clientCertificate contains an unreadable certificate; store the PEM without changes');
  }
}
