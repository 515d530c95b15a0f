import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CertificateAuthority, createAuthority, createKey, type KeyPair, openAuthority } from './authority.ts';

const CA_KEY = 'ca.key';
const CA_CERTIFICATE = 'ca.crt';
const TOKEN = 'admin.token';
const ACCOUNT_KEY = 'service-account.key';

const write = (path: string, text: string): void => writeFileSync(path, text, { mode: 0o600, flag: 'wx' });

/** Throws if the private key does not match the certificate, or if the certificate has expired. */
function mustBeOfUse({ key, certificate }: KeyPair, now: Date): void {
  const parsed = new X509Certificate(certificate);
  const hint = 'remove both files. The next start creates a new authority, and you must write the kubeconfigs again';
  if (!parsed.checkPrivateKey(createPrivateKey(key)))
    throw new Error(`${CA_KEY} does not match ${CA_CERTIFICATE}; restore the matching pair, or ${hint}`);
  const end = Date.parse(parsed.validTo);
  if (now.getTime() > end)
    throw new Error(
      `${CA_CERTIFICATE} expired at ${new Date(end).toISOString()}; the program cannot use ${CA_CERTIFICATE} and ${CA_KEY}: ${hint}`,
    );
}

/**
 * Returns the certificate authority in a data folder. At the first start, the function creates the certificate
 * authority.
 * @throws Error if the authority cannot be read or written.
 */
export function keepAuthority(dir: string, now: Date): CertificateAuthority {
  const [keyPath, certificatePath] = [join(dir, CA_KEY), join(dir, CA_CERTIFICATE)];
  try {
    if (existsSync(keyPath) && existsSync(certificatePath)) {
      const pair = { key: readFileSync(keyPath, 'utf8'), certificate: readFileSync(certificatePath, 'utf8') };
      mustBeOfUse(pair, now);
      return openAuthority(pair, now);
    }
    const authority = createAuthority(now);
    writeFileSync(keyPath, authority.key, { mode: 0o600 });
    write(certificatePath, authority.certificate);
    return authority;
  } catch (error) {
    throw new Error(
      `cannot use the certificate authority in ${dir}: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** Returns the administrator token in a data folder. */
export const keepToken = (dir: string, fresh: () => string): string => keepSecret(dir, TOKEN, fresh);

/** Returns the key for service account tokens in a data folder. */
export const keepServiceAccountKey = (dir: string): string => keepSecret(dir, ACCOUNT_KEY, createKey);

function keepSecret(dir: string, name: string, fresh: () => string): string {
  const path = join(dir, name);
  try {
    if (existsSync(path)) return readFileSync(path, 'utf8').trim();
    const token = fresh();
    write(path, `${token.trim()}\n`);
    return token;
  } catch (error) {
    throw new Error(`cannot use the file ${name} in ${dir}: ${error instanceof Error ? error.message : error}`);
  }
}
