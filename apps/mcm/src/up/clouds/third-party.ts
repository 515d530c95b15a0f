import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ConformanceConfig, readConfig } from '@mcm/conformance';
import { errorText } from '@mcm/kube';
import { UserError } from '../../command/errors.ts';
import { version } from '../../command/version.ts';
import type { CloudSide, ProviderFor } from './provider.ts';

const CONFIG = 'conformance.yaml';
/** The paths at which mcm searches for a driver. The field `mcm.driver` in package.json can name another path. */
const PLACES = ['src/driver.ts', 'dist/driver.js', 'src/driver.js', 'driver.ts', 'driver.js'];

interface DriverPlace {
  readonly module: string;
  readonly folder: string;
}

interface Manifest {
  readonly name?: unknown;
  readonly mcm?: { readonly driver?: unknown };
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Returns the closest parent folder with a package.json or a configuration. */
function packageOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json')) || existsSync(join(at, CONFIG))) return at;
    if (dirname(at) === at) return folder;
  }
}

function moduleOf(folder: string, text: string): string {
  const file = join(folder, 'package.json');
  const manifest = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : {};
  const named = manifest.mcm?.driver;
  const places = typeof named === 'string' ? [named] : PLACES;
  // Node.js cannot run a TypeScript file below node_modules, so such a file is skipped.
  const usable = places.filter((place) => !(folder.includes('node_modules') && place.endsWith('.ts')));
  const found = usable.map((place) => join(folder, place)).find((path) => existsSync(path));
  if (found === undefined)
    throw new UserError(
      `--provider ${text}: ${folder} contains none of the files ${usable.join(', ')}: write the path of the driver file`,
    );
  return found;
}

/** Returns the folder of an installed package. */
function installed(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (isFolder(folder)) return folder;
    if (dirname(at) === at) return undefined;
  }
}

/**
 * Finds the driver in the flag `--provider`, which is a file, a folder, or the name of an installed package.
 * @throws {UserError} if the folder contains no driver
 */
export function findDriver(text: string, from: string): DriverPlace {
  const path = resolve(from, text);
  const folder = isFolder(path) ? path : existsSync(path) ? undefined : installed(text, from);
  if (folder !== undefined) return { module: moduleOf(folder, text), folder };
  if (existsSync(path)) return { module: path, folder: packageOf(dirname(path)) };
  throw new UserError(
    `--provider ${text}: must be local, aws, azure or gcp, or the file, folder or installed package of a driver`,
  );
}

/** The driver imports a copy of the conformance package. Returns the URL of a program in this copy. */
function programOf({ module, folder }: DriverPlace, name: string): string {
  const kit = isKit(folder) ? folder : installed('@mcm/conformance', dirname(module));
  const needs = `--provider ${folder}: the package needs @mcm/conformance ${version()} or newer: run "npm install" in this folder`;
  if (kit === undefined) throw new UserError(needs);
  try {
    return pathToFileURL(createRequire(join(kit, 'package.json')).resolve(`@mcm/conformance/${name}/main`)).href;
  } catch (error) {
    throw new UserError(`${needs} (${errorText(error).split('\n')[0]})`);
  }
}

function isKit(folder: string): boolean {
  const file = join(folder, 'package.json');
  return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as Manifest).name === '@mcm/conformance';
}

/**
 * Returns the possible paths of the configuration of a driver. In a folder with several drivers, each driver has its
 * own file, such as `toy.yaml` for `toy-driver.ts`.
 */
export function configPlaces({ module, folder }: DriverPlace): readonly string[] {
  const own = `${basename(module, extname(module)).replace(/-driver$/, '')}.yaml`;
  return [join(dirname(module), CONFIG), join(dirname(module), own), join(folder, CONFIG)];
}

export function configOf({ module, folder }: DriverPlace): ConformanceConfig {
  const file = configPlaces({ module, folder }).find((path) => existsSync(path));
  if (file === undefined)
    throw new UserError(`--provider ${folder}: needs ${CONFIG} with a valid machineClass and secret`);
  try {
    return readConfig(file, readFileSync(file, 'utf8'), process.env);
  } catch (error) {
    throw new UserError(errorText(error));
  }
}

/**
 * Returns the provider for a third-party driver. If the driver module exports `openCloud`, an emulated cloud runs in a
 * separate process.
 */
export const thirdPartyProvider =
  (module: string): ProviderFor =>
  () => {
    const place = { module, folder: packageOf(dirname(module)) };
    const { machineClass, secret } = configOf(place);
    const name = machineClass.provider ?? 'custom';
    const plain = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
    return {
      name: module,
      cloud: {
        name: `${plain}-cloud`,
        module: programOf(place, 'cloud'),
        args: [`--driver=${module}`, '--port=0'],
        env: {},
      },
      machineController: ({ address }: CloudSide) => ({
        name: `machine-controller-${plain}`,
        module: programOf(place, 'controller'),
        args: [],
        env: { MCM_DRIVER: module, MCM_DRIVER_CLOUD: address.endsWith('/none') ? '' : address },
      }),
      credentials: () => secret,
      keepsUserData: true,
      simulatesNodes: true,
      nodeIsMachine: true,
      machineClass: {
        name: `${plain}-small`,
        secret: `${plain}-credentials`,
        provider: name,
        providerSpec: machineClass.providerSpec,
      },
    };
  };
