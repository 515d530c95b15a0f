/** A package of another author in a bundle. */
export interface PackageIn {
  readonly name: string;
  /** Folder of its package.json. */
  readonly folder: string;
}
