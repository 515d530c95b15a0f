import type { Image } from '../../machine/model.ts';
import { CloudError, notFound } from '../context/errors.ts';
import { type CloudContext, makeId } from '../context/settings.ts';
import type { CloudState } from './state.ts';

/** The images of the cloud. A request refers to an image by its ID or its name. */
export class Images {
  readonly #context: CloudContext;
  readonly #state: CloudState;

  constructor(context: CloudContext, state: CloudState) {
    this.#context = context;
    this.#state = state;
  }

  create(name: string): Image {
    if (this.find(name))
      throw new CloudError('ResourceInUse', `An image with this name already exists: ${JSON.stringify(name)}.`);
    const createdAt = this.#context.clock.now().toISOString();
    const image: Image = { id: makeId('img', this.#context.random), name, createdAt, state: 'available' };
    this.#state.saveImage(image);
    return image;
  }

  find(idOrName: string): Image | undefined {
    const byId = this.#state.images.get(idOrName);
    if (byId) return byId;
    for (const image of this.#state.images.values()) if (image.name === idOrName) return image;
    return undefined;
  }

  /** @throws {CloudError} NotFound */
  get(idOrName: string): Image {
    const image = this.find(idOrName);
    if (!image) throw notFound('image', idOrName);
    return image;
  }

  list(): Iterable<Image> {
    return this.#state.images.values();
  }

  /** Deprecates an image. Running instances keep the image, but new instances cannot use it. */
  deprecate(idOrName: string): Image {
    const image = this.get(idOrName);
    image.state = 'deprecated';
    this.#state.saveImage(image);
    return image;
  }

  delete(idOrName: string): void {
    this.#state.forgetImage(this.get(idOrName).id);
  }

  /**
   * Checks that a new instance can boot from an image.
   * @throws {CloudError} InvalidParameter if a new instance cannot boot from the image
   */
  requireUsable(idOrName: string): void {
    const image = this.find(idOrName);
    if (image?.state === 'deprecated')
      throw new CloudError('InvalidParameter', `image: ${JSON.stringify(idOrName)} is deprecated.`);
    if (!image && this.#context.imagePolicy === 'registered')
      throw new CloudError('InvalidParameter', `image: ${JSON.stringify(idOrName)} is not registered.`);
  }
}
