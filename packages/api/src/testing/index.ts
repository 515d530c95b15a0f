/** Manifests for the tests of whoever serves, validates or reconciles these kinds. */

export { crdsWithoutRules } from './crds.ts';
export {
  type BadManifest,
  badManifests,
  classManifest,
  deploymentManifest,
  goodManifests,
  type Manifest,
  machineManifest,
  setManifest,
} from './manifests.ts';
