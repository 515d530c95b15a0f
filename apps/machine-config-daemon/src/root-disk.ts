import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  open,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '@mcm/kube';
import type { Entry, NodeDisk } from '@mcm/machine-config';
import { pathInRoot } from './in-root.ts';
import { ownerId } from './owners.ts';

const PERMISSIONS = 0o7777;
const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/**
 * The files of a node, below a root directory. A write is atomic: the new file or link is created next to the old one,
 * and then renamed. The daemon flushes the content and the directory. After a power failure, the disk contains either
 * the old or the new file.
 */
export class RootDisk implements NodeDisk {
  readonly #root: string;
  readonly #onWrite: (path: string) => void;

  /**
   * @param onWrite Called with the path on the node before each change. The watch of the disk ignores the changes that
   * the daemon reports in `onWrite`.
   */
  constructor(root: string, onWrite: (path: string) => void = () => undefined) {
    this.#root = root;
    this.#onWrite = onWrite;
  }

  async read(path: string): Promise<Entry | undefined> {
    const real = await pathInRoot(this.#root, path);
    try {
      const {
        mode,
        uid: user,
        gid: group,
        ...stat
      } = await lstat(real).then((found) => ({
        mode: found.mode & PERMISSIONS,
        uid: found.uid,
        gid: found.gid,
        isLink: found.isSymbolicLink(),
        isDirectory: found.isDirectory(),
        isFile: found.isFile(),
      }));
      if (stat.isLink) return { kind: 'link', target: await readlink(real) };
      if (stat.isDirectory) return { kind: 'directory', mode, user, group };
      if (!stat.isFile) throw new Error(`${path} is not a file, directory or link`);
      return { kind: 'file', content: await readFile(real), mode, user, group };
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
      throw error;
    }
  }

  async put(path: string, entry: Entry): Promise<void> {
    this.#onWrite(path);
    const real = await pathInRoot(this.#root, path);
    try {
      await this.#makeParents(dirname(real));
      if (entry.kind === 'directory') await this.#putDirectory(real, entry);
      else await this.#replace(real, entry);
    } catch (error) {
      throw new Error(`cannot write ${path}: ${reasonOf(error)}`, { cause: error });
    }
  }

  async remove(path: string): Promise<void> {
    this.#onWrite(path);
    const real = await pathInRoot(this.#root, path);
    try {
      if ((await lstat(real)).isDirectory()) await rmdir(real);
      else await rm(real);
      await flush(dirname(real));
    } catch (error) {
      const fine = ['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'];
      if (fine.some((code) => code === codeOf(error))) return;
      throw new Error(`cannot remove ${path}: ${reasonOf(error)}`, { cause: error });
    }
  }

  async owned(found: Entry, wanted: Entry): Promise<boolean> {
    if (found.kind === 'link' || wanted.kind === 'link') return true;
    const { user, group } = await this.#ownerOf(wanted);
    return found.user === user && found.group === group;
  }

  /** Returns the owner of a new file. The default owner is the user of this process: root on a real machine. */
  async #ownerOf(entry: Exclude<Entry, { kind: 'link' }>): Promise<{ user: number; group: number }> {
    const [user, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    return {
      user: entry.user === undefined ? user : await ownerId(this.#root, '/etc/passwd', entry.user),
      group: entry.group === undefined ? group : await ownerId(this.#root, '/etc/group', entry.group),
    };
  }

  async #makeParents(directory: string): Promise<void> {
    const first = makeFolder(directory, 0o755);
    if (first !== undefined) await flush(dirname(first));
  }

  async #putDirectory(real: string, entry: Extract<Entry, { kind: 'directory' }>): Promise<void> {
    await mkdir(real).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    const { user, group } = await this.#ownerOf(entry);
    await chown(real, user, group);
    await chmod(real, entry.mode);
    await flush(dirname(real));
  }

  async #replace(real: string, entry: Exclude<Entry, { kind: 'directory' }>): Promise<void> {
    const temporary = join(dirname(real), `.${basename(real)}.${randomBytes(6).toString('hex')}`);
    try {
      if (entry.kind === 'file') await this.#writeFile(temporary, entry);
      else if (entry.hard) await link(await pathInRoot(this.#root, entry.target), temporary);
      else await symlink(entry.target, temporary);
      await rename(temporary, real);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await flush(dirname(real));
  }

  async #writeFile(path: string, entry: Extract<Entry, { kind: 'file' }>): Promise<void> {
    const { user, group } = await this.#ownerOf(entry);
    // Other users cannot access the new file, because they must not read it before its owner and mode are set.
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(entry.content);
      await file.chown(user, group);
      await file.chmod(entry.mode);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: 'a parent of the path is not a directory',
  EEXIST: 'a parent of the path is not a directory',
  EISDIR: 'the path is a directory',
  ENOSPC: 'the disk has no free space',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
};

const reasonOf = (error: unknown): string =>
  REASONS[String(codeOf(error))] ?? (error instanceof Error ? error.message : String(error));
