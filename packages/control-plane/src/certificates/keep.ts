import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CertificateAuthority, createAuthority, openAuthority } from './authority.ts';

/** Files of the data folder. */
const CA_KEY = 'ca.key';
const CA_CERTIFICATE = 'ca.crt';
const TOKEN = 'admin.token';

const write = (path: string, text: string): void => writeFileSync(path, text, { mode: 0o600, flag: 'wx' });

/** The authority of a data folder; made at its first start. @throws Error in one sentence when it cannot be read or written */
export function keepAuthority(dir: string, now: Date): CertificateAuthority {
  const [keyPath, certificatePath] = [join(dir, CA_KEY), join(dir, CA_CERTIFICATE)];
  try {
    // The key is written first, so a certificate without a key is never found.
    if (existsSync(keyPath) && existsSync(certificatePath)) {
      return openAuthority(
        { key: readFileSync(keyPath, 'utf8'), certificate: readFileSync(certificatePath, 'utf8') },
        now,
      );
    }
    const authority = createAuthority(now);
    writeFileSync(keyPath, authority.key, { mode: 0o600 });
    write(certificatePath, authority.certificate);
    return authority;
  } catch (error) {
    throw new Error(
      `the certificate authority in ${dir} cannot be used: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** A secret word of a data folder; made at its first start. */
export function keepToken(dir: string, fresh: () => string): string {
  const path = join(dir, TOKEN);
  try {
    if (existsSync(path)) return readFileSync(path, 'utf8').trim();
    const token = fresh();
    write(path, `${token}\n`);
    return token;
  } catch (error) {
    throw new Error(
      `the administrator's token in ${dir} cannot be used: ${error instanceof Error ? error.message : error}`,
    );
  }
}
